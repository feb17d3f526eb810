-- What only a superuser can make: the order by which the type `pair` is sorted and grouped.
CREATE OPERATOR CLASS pair_order DEFAULT FOR TYPE pair USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =,
	OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 pair_compare(pair, pair);
CREATE VIEW pairs_sorted AS SELECT note FROM pairs ORDER BY p;
ALTER VIEW pairs_sorted OWNER TO app;
