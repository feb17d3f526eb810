-- A football league: the same names of columns everywhere, so that NATURAL and USING have something to join.
CREATE TABLE season (season_id int PRIMARY KEY, first_day date NOT NULL, last_day date NOT NULL, points_for_win smallint NOT NULL DEFAULT 3);
CREATE TABLE club (club_id int PRIMARY KEY, club_name varchar(50) NOT NULL, city varchar(30), founded int, stadium varchar(50), capacity int);
CREATE TABLE player (
	player_id int PRIMARY KEY, player_name varchar(50) NOT NULL, birth_date date, height real, foot varchar(5), nation varchar(20)
);
CREATE TABLE contract (
	player_id int REFERENCES player, club_id int REFERENCES club, season_id int REFERENCES season, shirt smallint, salary bigint, role varchar(12),
	PRIMARY KEY (player_id, club_id, season_id)
);
CREATE TABLE game (
	game_id int PRIMARY KEY, season_id int REFERENCES season, round smallint, home_id int REFERENCES club, guest_id int REFERENCES club,
	kick_off timestamp, home_goals smallint, guest_goals smallint, spectators int, referee_id int
);
CREATE TABLE referee (referee_id int PRIMARY KEY, referee_name varchar(50), nation varchar(20), since date);
CREATE TABLE goal (game_id int REFERENCES game, minute smallint, player_id int REFERENCES player, kind varchar(10), own_goal boolean DEFAULT false, PRIMARY KEY (game_id, minute, player_id));
CREATE TABLE card (card_id int PRIMARY KEY, game_id int REFERENCES game, player_id int REFERENCES player, minute smallint, colour varchar(6));
CREATE TABLE line_up (game_id int REFERENCES game, player_id int REFERENCES player, minute_in smallint NOT NULL DEFAULT 0, minute_out smallint NOT NULL DEFAULT 90, PRIMARY KEY (game_id, player_id));
CREATE TABLE transfer (transfer_id int PRIMARY KEY, player_id int REFERENCES player, from_club int, to_club int, day date, fee numeric(12,2));
CREATE VIEW result AS
	SELECT game_id, season_id, round, home_id AS club_id, home_goals AS scored, guest_goals AS conceded, true AS at_home FROM game
	UNION ALL SELECT game_id, season_id, round, guest_id, guest_goals, home_goals, false FROM game;

INSERT INTO season SELECT i, make_date(2020 + i, 8, 15), make_date(2021 + i, 5, 31), 3 FROM generate_series(1, 3) i;
INSERT INTO club SELECT i, (ARRAY['Rovers', 'United', 'Athletic', 'Wanderers', 'Town', 'Albion'])[i], (ARRAY['Leith', 'Derry', 'Leith', 'Bath', NULL, 'York'])[i], 1880 + i * 11,
	CASE WHEN i <> 5 THEN 'Ground ' || i END, 4000 * i FROM generate_series(1, 6) i;
INSERT INTO player SELECT i, (ARRAY['Kane', 'Lopez', 'Ito', 'Diallo', 'Weber', 'Nys', 'Orr'])[1 + i % 7] || ' ' || i, date '1985-02-20' + i * 83, 1.65 + (i % 30) / 100.0, (ARRAY['left', 'right', 'both', NULL])[1 + i % 4],
	(ARRAY['Spain', 'Japan', 'Mali', 'Germany', 'Belgium'])[1 + i % 5] FROM generate_series(1, 90) i;
INSERT INTO contract SELECT i, 1 + (i + s / 3) % 6, s, 1 + i % 40, 40000 + i * 900 + s * 5000, (ARRAY['keeper', 'defence', 'midfield', 'attack'])[1 + i % 4] FROM generate_series(1, 85) i, generate_series(1, 3) s WHERE (i + s) % 5 > 0;
INSERT INTO referee SELECT i, 'Referee ' || i, (ARRAY['Spain', 'Mali', NULL])[1 + i % 3], date '2010-09-01' + i * 300 FROM generate_series(1, 5) i;
INSERT INTO game SELECT row_number() OVER (ORDER BY s, h, g), s, 1 + (h + g) % 10, h, g, make_date(2020 + s, 8, 20) + (h * 31 + g * 7) + time '15:30', (h * g + s) % 5, (h + 2 * g + s) % 4,
	CASE WHEN s < 3 OR h < 6 THEN 900 * h + 137 * g + (h * g + s) % 4 * 150 END, CASE WHEN (h + g) % 4 > 0 THEN 1 + (h + g) % 5 END FROM generate_series(1, 3) s, generate_series(1, 6) h, generate_series(1, 6) g WHERE h <> g;
INSERT INTO line_up SELECT game_id, player_id, CASE WHEN shirt % 9 = 0 THEN 46 ELSE 0 END, CASE WHEN shirt % 7 = 0 THEN 70 ELSE 90 END FROM game JOIN contract c USING (season_id) WHERE c.club_id IN (home_id, guest_id) AND (game_id + player_id) % 2 = 0;
INSERT INTO goal SELECT game_id, 5 + n * 17 % 85, 1 + (game_id * 7 + n * 5) % 85, (ARRAY['header', 'penalty', 'shot'])[1 + (game_id + n) % 3], (game_id + n) % 19 = 0 FROM game, generate_series(1, 4) n WHERE n <= home_goals;
INSERT INTO card SELECT i, 1 + i % 90, 1 + (i * 11) % 85, 1 + (i * 13) % 90, CASE WHEN i % 8 = 0 THEN 'red' ELSE 'yellow' END FROM generate_series(1, 120) i;
INSERT INTO transfer SELECT i, 1 + i * 3, 1 + i % 6, CASE WHEN i % 5 > 0 THEN 1 + (i + 2) % 6 END, date '2021-06-20' + i * 40, CASE WHEN i % 4 > 0 THEN i * 25000 END FROM generate_series(1, 20) i;
