# The unit tests, what each covers and what it needs: see unit_test in ../CMakeLists.txt. harness/house/covers.py holds this
# table against the sources: whatever is new there has to be covered by something here or in integration/suites.cmake.

unit_test(common/arena COVERS common/arena)
unit_test(common/backoff COVERS common/backoff)
unit_test(common/base64 COVERS common/base64)
unit_test(common/buf COVERS common/buf)
unit_test(common/circuit_breaker COVERS common/circuit_breaker)
unit_test(common/conf_hint COVERS common/conf_hint)
unit_test(common/conf_scan COVERS common/conf_scan)
unit_test(common/decimal COVERS common/decimal)
unit_test(common/edit_distance COVERS common/edit_distance)
unit_test(common/err COVERS common/err)
unit_test(common/hash COVERS common/hash)
unit_test(common/heartbeat COVERS common/heartbeat)
unit_test(common/histogram THREADS COVERS common/histogram)
unit_test(common/kept_file COVERS common/kept_file)
unit_test(common/log COVERS common/log)
unit_test(common/memory PLAIN COVERS common/memory)
unit_test(common/output COVERS common/output)
unit_test(common/queue THREADS COVERS common/queue common/pool)
unit_test(common/terminal COVERS common/terminal)
unit_test(common/utf8 COVERS common/utf8)

unit_test(address/addresses
  COVERS address/base_url address/brokers address/host_port address/libpq_dsn address/server_hint)
unit_test(address/mariadb_dsn COVERS address/mariadb_dsn)
unit_test(address/mongodb_dsn COVERS address/mongodb_dsn)

unit_test(audit/archive/archive THREADS WAITS COVERS audit/archive/* WITH harness_database_server assayd_audit_archive)
unit_test(audit/checkpoint COVERS audit/checkpoint)
unit_test(audit/growth COVERS audit/growth)
unit_test(audit/keeper/keeper_log COVERS audit/keeper/keeper_log WITH assayd_audit_keeper)
unit_test(audit/leaf COVERS audit/leaf)
unit_test(audit/log/reading WAITS COVERS audit/log/reading WITH harness_database_server assayd_audit_log)
unit_test(audit/log/store THREADS WAITS COVERS audit/log/* WITH harness_database_server assayd_audit_log)
unit_test(audit/merkle COVERS audit/merkle)
unit_test(audit/note COVERS audit/note)
unit_test(audit/proof COVERS audit/proof)
unit_test(audit/publish/checkpoint_file COVERS audit/publish/checkpoint_file WITH assayd_audit_publish)
unit_test(audit/publish/checkpoint_reader COVERS audit/publish/checkpoint_reader WITH assayd_audit_publish)
unit_test(audit/publish/key_file COVERS audit/publish/key_file WITH assayd_audit_publish)
unit_test(audit/recompute/recompute THREADS
  COVERS audit/recompute/print audit/recompute/recompute audit/recompute/rules audit/recompute/settings audit/recompute/stream
  WITH assayd_audit_recompute)
unit_test(audit/tiles COVERS audit/tiles)
unit_test(audit/verify/claims_batch THREADS COVERS audit/verify/claims_batch WITH assayd_audit_verify)
unit_test(audit/verify/log_claims COVERS audit/verify/log_claims WITH assayd_audit_verify)
unit_test(audit/verify/log_rows COVERS audit/verify/log_rows WITH assayd_audit_verify)
unit_test(audit/verify/export_file COVERS audit/verify/export_file WITH assayd_audit_verify)
unit_test(audit/verify/partition_check COVERS audit/verify/differences audit/verify/partition_check WITH assayd_audit_verify)

unit_test(avro/bounds COVERS avro/bounds)
unit_test(avro/canonical COVERS avro/canonical)
# The Avro project's own library gives a second opinion.
unit_test(avro/codec
  COVERS avro/advisory avro/builtin avro/codec avro/fields avro/plan avro/records avro/wire)
unit_test(avro/encode COVERS avro/encode)
unit_test(avro/framing COVERS avro/framing)
unit_test(avro/json COVERS avro/json_quick avro/json_read avro/json_text avro/json_write)
unit_test(avro/named_schemas THREADS COVERS avro/named_schemas)
unit_test(avro/overall_rules COVERS avro/overall_rules)
unit_test(avro/registry/registry THREADS WAITS COVERS avro/registry/registry avro/registry/registry_http WITH assayd_avro_registry)
unit_test(avro/registry/registry_queue THREADS WAITS COVERS avro/registry/registry avro/registry/registry_http avro/registry/registry_subjects
  SOURCES unit/avro/registry/fake_registry.c WITH assayd_avro_registry)
unit_test(avro/registry/registry_lookups COVERS avro/registry/registry_lookups WITH assayd_avro_registry)
unit_test(avro/registry/registry_addresses COVERS avro/registry/registry_addresses WITH assayd_avro_registry)
unit_test(avro/registry/registry_fetch COVERS avro/registry/registry_answer avro/registry/registry_fetch avro/registry/registry_inline WITH assayd_avro_registry)
unit_test(avro/registry/registry_patience COVERS avro/registry/registry_patience WITH assayd_avro_registry)
unit_test(avro/registry/registry_proof COVERS avro/registry/registry_proof WITH assayd_avro_registry)
unit_test(avro/registry/registry_store COVERS avro/registry/registry_store WITH assayd_avro_registry)
unit_test(avro/schema_tree COVERS avro/schema_tree)
unit_test(avro/second_opinion COVERS avro/second_opinion)
unit_test(avro/timestamp COVERS avro/timestamp)
unit_test(avro/versions COVERS avro/codec avro/plan)

unit_test(calibration/calibrator WAITS
  COVERS calibration/calibrator calibration/count/batch calibration/count/ingest calibration/count/lag
  calibration/count/records
  WITH harness_calibration_rig)

unit_test(calibration/count/ingest COVERS calibration/count/batch calibration/count/ingest)

unit_test(calibration/count/store THREADS WAITS
  COVERS calibration/count/store calibration/store/schema calibration/store/segments
  WITH harness_database_server)

unit_test(calibration/drift/drift THREADS WAITS
  COVERS calibration/drift/* calibration/store/episodes
  WITH harness_counting harness_database_server)

unit_test(calibration/feedback/feedback PLAIN WAITS COVERS calibration/feedback/feedback WITH harness_counting harness_database_server)

unit_test(calibration/learn/learner THREADS WAITS
  COVERS calibration/learn/* calibration/store/examples calibration/store/retention
  WITH harness_counting harness_database_server)

unit_test(calibration/learn/learner_rules WAITS
  COVERS calibration/learn/* calibration/store/rules calibration/store/retention
  WITH harness_counting harness_database_server)

unit_test(calibration/model/evidence COVERS calibration/model/evidence)
unit_test(calibration/model/judgement PLAIN LONG COVERS calibration/model/judgement)
unit_test(calibration/model/looks LONG COVERS calibration/model/looks)
unit_test(calibration/model/model LONG COVERS calibration/model/*)

unit_test(calibration/model/model_corpus PLAIN LONG COVERS calibration/model/* WITH harness_labelled)

unit_test(calibration/rebuild/rebuild PLAIN LONG WAITS COVERS calibration/rebuild/* WITH harness_calibration_rig)

unit_test(calibration/replay/replay COVERS calibration/replay/replay calibration/replay/replay_print)
unit_test(calibration/replay/replay_file LONG COVERS calibration/replay/replay_file)

unit_test(calibration/report/models WAITS
  COVERS calibration/report/models calibration/report/print_models
  WITH harness_database_server)
unit_test(calibration/report/ranking COVERS calibration/report/ranking)
unit_test(calibration/report/reader WAITS
  COVERS calibration/report/print calibration/report/print_ranking calibration/report/print_text
  calibration/report/reader calibration/report/sample calibration/store/check database/values
  WITH harness_database_server)
unit_test(calibration/report/report WAITS COVERS calibration/report/report)

unit_test(calibration/statistics/claims_sequence PLAIN LONG COVERS calibration/statistics/claims_sequence)
unit_test(calibration/statistics/drift_sequence COVERS calibration/statistics/drift_sequence)
unit_test(calibration/statistics/source_sequence PLAIN LONG COVERS calibration/statistics/source_sequence)
unit_test(calibration/statistics/statistics COVERS calibration/statistics/*)

unit_test(calibration/store/cases WAITS COVERS calibration/store/cases)
unit_test(calibration/store/rollup PLAIN WAITS
  COVERS calibration/store/days calibration/store/rollup calibration/store/retention
  WITH harness_database_server)
unit_test(calibration/store/claims WAITS COVERS calibration/store/claims WITH harness_database_server)
unit_test(calibration/store/rules WAITS COVERS calibration/store/rules WITH harness_counting harness_database_server)
unit_test(calibration/store/sequences THREADS WAITS COVERS calibration/store/sequences WITH harness_counting harness_database_server)

unit_test(command/id_time COVERS command/id_time)
unit_test(command/line_reader COVERS command/line_reader)
unit_test(command/top_frame COVERS command/top_frame)
unit_test(command/redrive_plan COVERS command/redrive_plan)

unit_test(compare/columns COVERS compare/columns compare/search)
unit_test(compare/compare COVERS compare/compare compare/pairing)
unit_test(compare/digest COVERS compare/digest)
unit_test(compare/exhaustive COVERS compare/number compare/value)
unit_test(compare/explain COVERS compare/explain)
unit_test(compare/fingerprint COVERS compare/fingerprint)
unit_test(compare/oracle COVERS compare/digest compare/value WITH harness_cell_oracle)
unit_test(compare/order COVERS compare/order compare/part)
unit_test(compare/rows COVERS compare/rows compare/equals compare/reading compare/table)
unit_test(compare/times COVERS compare/moment)
unit_test(compare/values COVERS compare/document compare/value)

unit_test(config/config COVERS config/check config/config config/load config/table common/conf_render common/conf_table)
unit_test(config/secret COVERS config/secret common/secret)

unit_test(database/array WAITS COVERS database/array)
unit_test(database/database THREADS WAITS COVERS database/database database/migrations)

unit_test(event/analyse THREADS WAITS
  COVERS event/analyse event/candidates event/overall event/truths event/record/facts score/agreement)
unit_test(event/conclusions LONG WAITS COVERS event/advisories event/record/disposition event/remedy)
unit_test(event/encode WAITS COVERS event/advisories event/encode)
unit_test(event/event WAITS COVERS event/event)
unit_test(event/event_metrics WAITS COVERS event/event_metrics)
unit_test(event/event_metrics_segments WAITS COVERS event/event_metrics_segments)
unit_test(event/recent COVERS event/recent)
unit_test(event/features THREADS WAITS COVERS event/features)
unit_test(event/finalise THREADS WAITS COVERS event/finalise event/record/*)
# The worked examples of the manual.
unit_test(event/formulas COVERS event/sampling judge/panel score/agreement score/level)
unit_test(event/incidents WAITS COVERS event/incidents)
unit_test(event/outages COVERS event/outages)
unit_test(event/pipeline THREADS WAITS COVERS event/pipeline)
unit_test(event/probability WAITS COVERS event/probability calibration/model/model_current)
unit_test(event/query_times COVERS event/query_times)
unit_test(event/rate_limiter WAITS COVERS event/rate_limiter)
unit_test(event/response WAITS COVERS event/response)
unit_test(event/sampling WAITS COVERS event/sampling)
unit_test(event/schema_text WAITS COVERS event/schema_text)
unit_test(event/share WAITS COVERS event/share)
unit_test(event/step WAITS COVERS event/step)

unit_test(fetch/fetcher THREADS WAITS COVERS fetch/fetcher)

unit_test(http/accept WAITS COVERS http/accept)
unit_test(http/attention COVERS http/attention)
unit_test(http/exposition WAITS COVERS http/exposition)
unit_test(http/history COVERS http/history http/changes)
unit_test(http/host WAITS COVERS http/host)
unit_test(http/listen WAITS COVERS http/listen)
unit_test(http/markup COVERS http/markup)
unit_test(http/server THREADS WAITS COVERS http/server)
unit_test(http/watch COVERS http/watch)

unit_test(judge/cache WAITS COVERS judge/cache judge/digest_table)
unit_test(judge/crowd PLAIN WAITS COVERS judge/dispatcher)
unit_test(judge/endpoint WAITS COVERS judge/endpoint)
unit_test(judge/exchange WAITS COVERS judge/exchange)
unit_test(judge/fault WAITS COVERS judge/fault)
unit_test(judge/fault_injection THREADS WAITS COVERS judge/exchange judge/transport)
unit_test(judge/http2 PLAIN WAITS COVERS judge/transport)
unit_test(judge/injection THREADS WAITS COVERS judge/prompt judge/reply)
unit_test(judge/judge THREADS WAITS COVERS judge/dispatcher judge/dispatcher_life judge/judge judge/budget_file)
unit_test(judge/key PLAIN WAITS COVERS judge/check judge/transport)
unit_test(judge/limits WAITS COVERS judge/limits)
unit_test(judge/members THREADS WAITS COVERS judge/dispatcher judge/dispatcher_life judge/judge judge/transport)
unit_test(judge/pace WAITS COVERS judge/pace)
unit_test(judge/panel COVERS judge/panel)
unit_test(judge/prompt WAITS COVERS judge/prompt)
unit_test(judge/provider WAITS COVERS judge/anthropic judge/openai judge/provider judge/provider_json)
unit_test(judge/reply WAITS COVERS judge/reply)
unit_test(judge/rude_server PLAIN WAITS COVERS judge/transport)
unit_test(judge/shared_cache THREADS WAITS COVERS judge/shared_cache judge/shared_cache_keeper)
unit_test(judge/sharing PLAIN WAITS COVERS judge/dispatcher)
unit_test(judge/wire THREADS WAITS COVERS judge/transport)

unit_test(kafka/assignment THREADS WAITS COVERS kafka/assignment)
unit_test(kafka/board COVERS kafka/board)
unit_test(kafka/client WAITS COVERS kafka/client)
unit_test(kafka/credits THREADS WAITS COVERS kafka/credits)
unit_test(outward/reception COVERS outward/reception)
unit_test(outward/webhook COVERS outward/webhook)
unit_test(outward/otlp COVERS outward/otlp)

unit_test(kafka/cloud_event COVERS kafka/cloud_event)
unit_test(kafka/dead_letter COVERS kafka/dead_letter kafka/header)
unit_test(kafka/fetching WAITS COVERS kafka/fetching)
unit_test(kafka/group WAITS COVERS kafka/group)
unit_test(kafka/identity WAITS COVERS kafka/identity)
unit_test(kafka/landmarks COVERS kafka/landmarks)
unit_test(kafka/offsets WAITS COVERS kafka/offsets)
unit_test(kafka/permissions WAITS COVERS kafka/permissions)
unit_test(kafka/producer_recovery WAITS COVERS kafka/producer kafka/producer_recovery kafka/transaction)
unit_test(kafka/receipts COVERS kafka/receipts)
unit_test(kafka/reason WAITS COVERS kafka/reason)
unit_test(kafka/rights WAITS COVERS kafka/rights)
unit_test(kafka/rights_watch WAITS COVERS kafka/rights_watch)
unit_test(kafka/token COVERS kafka/token)
# The test stands between the source and its client.
unit_test(kafka/source WAITS
  COVERS kafka/source kafka/lag
  LINK_OPTIONS -Wl,--wrap=rd_kafka_conf_set_rebalance_cb,--wrap=rd_kafka_consumer_poll)

unit_test(score/advisory COVERS score/advisory)
unit_test(score/correlation COVERS score/correlation)
unit_test(score/disposition COVERS score/disposition)
unit_test(score/evaluation COVERS score/evaluation)
unit_test(score/features COVERS score/features score/question score/sketch)
# Learns from labels as the calibrator does.
unit_test(score/features_corpus COVERS score/features WITH harness_labelled assayd_calibration_statistics)
unit_test(score/grading COVERS score/grading)
unit_test(score/level COVERS score/level)
unit_test(score/match COVERS score/match)
unit_test(score/overall COVERS score/overall)
unit_test(score/retrieval COVERS score/advisory score/retrieval)
unit_test(score/semantic COVERS score/semantic)
unit_test(score/technical COVERS score/technical)

unit_test(sql/analysis COVERS sql/dialects sql/findings/* sql/postgresql/front_end)
unit_test(sql/analysis_cache THREADS COVERS sql/analysis_cache)
unit_test(sql/bomb_limits COVERS sql/query/bombs sql/query/sizes sql/postgresql/safety/bombs)
unit_test(sql/conformance COVERS sql/query/*)
unit_test(sql/gate_limits COVERS sql/lex/gate sql/redact)
unit_test(sql/growth PLAIN COVERS sql/lex/gate sql/mysql/* sql/sqlite/* WITH harness_sql_shapes)
unit_test(sql/hints COVERS sql/findings/instead)
unit_test(sql/inner_cuts COVERS sql/inner_cuts sql/query/inner_cuts sql/postgresql/diagnose/inner_cuts)
unit_test(sql/redact COVERS sql/redact sql/lex/scan)
unit_test(sql/sort_keys COVERS sql/mongodb_sort_keys sql/sort_keys)
unit_test(sql/spider LONG COVERS sql/dialects)
unit_test(sql/threads THREADS COVERS sql/dialects)

unit_test(sql/catalog/catalog COVERS sql/catalog/*)
unit_test(sql/catalog/catalog_mongodb COVERS sql/catalog/mongodb)
unit_test(sql/catalog/catalog_mysql COVERS sql/catalog/mysql sql/catalog/mysql_names)
unit_test(sql/catalog/catalog_server COVERS sql/catalog/builtin sql/catalog/postgresql WITH PkgConfig::PQ)

unit_test(sql/findings/diagnostics COVERS sql/findings/diagnostics)

unit_test(sql/lex/code_fence COVERS sql/lex/code_fence)
unit_test(sql/lex/gate COVERS sql/lex/gate)
unit_test(sql/lex/prose COVERS sql/lex/prose)
unit_test(sql/lex/statement_words COVERS sql/lex/statement_words sql/lex/identifier sql/lex/scan_text sql/lex/texts)
unit_test(sql/lex/words COVERS sql/lex/words)

unit_test(sql/mongodb/mongodb COVERS sql/mongodb/*)
unit_test(sql/mongodb/mongodb_fields COVERS sql/mongodb/resolve sql/mongodb/resolve_expressions
  sql/mongodb/resolve_filters sql/mongodb/resolve_stages sql/mongodb/shape)
unit_test(sql/mongodb/mongodb_date COVERS sql/mongodb/date)
unit_test(sql/mongodb/mongodb_required COVERS sql/mongodb/required)
unit_test(sql/mysql/mysql COVERS sql/mysql/*)
unit_test(sql/mysql/mysql_attacks PLAIN COVERS sql/mysql/safety WITH PkgConfig::MARIADB)
unit_test(sql/mysql/mysql_oracle COVERS sql/mysql/* WITH PkgConfig::MARIADB)

unit_test(sql/postgresql/attacks PLAIN TIMEOUT 3000 COVERS sql/postgresql/safety/* WITH harness_effects)
unit_test(sql/postgresql/corpora LONG COVERS sql/postgresql/front_end WITH harness_truths)
unit_test(sql/postgresql/oracle_postgresql LONG COVERS sql/postgresql/resolve/* WITH harness_oracle)

unit_test(sql/postgresql/canonical/canonical COVERS sql/postgresql/canonical/*)
unit_test(sql/postgresql/canonical/canonical_execution PLAIN COVERS sql/postgresql/canonical/* WITH harness_rewrites)
unit_test(sql/postgresql/canonical/canonical_forms COVERS sql/postgresql/canonical/*)

unit_test(sql/postgresql/ddl/catalog_sql COVERS sql/postgresql/ddl/*)

unit_test(sql/postgresql/parse/parse COVERS sql/postgresql/parse/*)

unit_test(sql/postgresql/resolve/resolve COVERS sql/postgresql/diagnose/* sql/postgresql/resolve/*)
unit_test(sql/postgresql/resolve/resolve_types COVERS sql/postgresql/resolve/* WITH PkgConfig::PQ)
unit_test(sql/postgresql/resolve/type_coercion COVERS sql/postgresql/resolve/type_coercion)
unit_test(sql/postgresql/resolve/type_literal
  COVERS sql/postgresql/resolve/literal_address sql/postgresql/resolve/literal_date
  sql/postgresql/resolve/literal_fields sql/postgresql/resolve/literal_interval sql/postgresql/resolve/literal_json
  sql/postgresql/resolve/literal_name sql/postgresql/resolve/literal_nested sql/postgresql/resolve/literal_shape
  sql/postgresql/resolve/type_literal)
unit_test(sql/postgresql/resolve/type_overload COVERS sql/postgresql/resolve/type_overload)

unit_test(sql/postgresql/safety/safety COVERS sql/postgresql/safety/*)
unit_test(sql/postgresql/safety/safety_bombs
  COVERS sql/postgresql/safety/bombs sql/postgresql/safety/const_eval sql/postgresql/safety/recursion
  sql/postgresql/safety/paths)
unit_test(sql/postgresql/safety/safety_catalog COVERS sql/postgresql/safety/safety sql/postgresql/safety/volatile)
unit_test(sql/postgresql/safety/safety_depth COVERS sql/postgresql/safety/safety sql/postgresql/safety/walk)
unit_test(sql/postgresql/safety/safety_growth
  COVERS sql/postgresql/safety/growth sql/postgresql/safety/growth_columns sql/postgresql/safety/growth_from)
unit_test(sql/postgresql/safety/safety_server
  COVERS sql/postgresql/safety/functions sql/postgresql/safety/views
  WITH PkgConfig::PQ)
unit_test(sql/postgresql/safety/safety_sizes
  COVERS sql/postgresql/safety/const_eval_numbers sql/postgresql/safety/recursion_bounds)

unit_test(sql/query/position COVERS sql/query/position WITH PkgConfig::SQLITE)
unit_test(sql/query/required COVERS sql/query/conditions sql/query/required)

unit_test(sql/sqlite/sqlite COVERS sql/sqlite/* common/nearest)
unit_test(sql/sqlite/sqlite_corpora LONG COVERS sql/sqlite/*)
unit_test(sql/sqlite/sqlite_predictions COVERS sql/sqlite/*)

unit_test(target/attacks WAITS COVERS target/postgresql target/validation)
unit_test(target/cancel THREADS WAITS COVERS target/query_canceller target/workers)
unit_test(target/candidates WAITS COVERS target/validation_candidates)
unit_test(target/catalogs THREADS WAITS COVERS target/catalogs)
unit_test(target/confine PLAIN WAITS COVERS target/confine target/confine_calls target/confine_files)
unit_test(target/faults PLAIN WAITS COVERS target/supervisor target/workers)
unit_test(target/mariadb WAITS
  COVERS target/mariadb target/mariadb_check target/mariadb_session target/settings)
unit_test(target/mariadb_attacks PLAIN WAITS COVERS target/mariadb)
unit_test(target/mariadb_tls THREADS WAITS COVERS target/mariadb_session)
unit_test(target/mariadb_values WAITS COVERS target/mariadb_cells)
unit_test(target/message WAITS COVERS target/message)
unit_test(target/mongodb WAITS COVERS target/mongodb target/mongodb_catalog target/mongodb_session)
unit_test(target/mongodb_attacks LONG WAITS COVERS target/mongodb target/mongodb_values)
unit_test(target/mongodb_documents COVERS target/mongodb_check target/mongodb_documents target/mongodb_values)
unit_test(target/mongodb_pairs LONG WAITS COVERS sql/mongodb/canonical sql/mongodb_sort_keys target/mongodb
  SOURCES unit/target/mongodb_queries.c unit/target/mongodb_spelling.c)
unit_test(target/metamorphic PLAIN WAITS
  COVERS target/validation target/validation_ties
  SOURCES unit/target/metamorphic_trial.c WITH harness_result_oracle)
unit_test(target/metamorphic_alternatives PLAIN WAITS
  COVERS target/validation target/validation_doubt
  SOURCES unit/target/metamorphic_trial.c WITH harness_result_oracle)
unit_test(target/metamorphic_engines PLAIN WAITS COVERS target/engine target/validation)
unit_test(target/over_limit LONG WAITS COVERS target/any_rows target/validation_full target/validation_state)
unit_test(target/own_equal WAITS COVERS target/validation_doubt target/validation_inner)
unit_test(target/postgresql WAITS
  COVERS target/check target/postgresql target/postgresql_session target/result)
unit_test(target/postgresql_session WAITS COVERS target/postgresql_session)
unit_test(target/runaway PLAIN WAITS COVERS target/workers)
unit_test(target/sort_keys WAITS COVERS target/validation_ties)
unit_test(target/sqlite WAITS COVERS target/sqlite target/sqlite_log)
unit_test(target/stream WAITS
  COVERS target/stream compare/contents compare/members compare/sample compare/similar compare/sketch)
unit_test(target/supervisor THREADS WAITS
  COVERS target/supervisor target/targets target/tries target/worker target/worker_process target/workers common/clock)
unit_test(target/truth_cache WAITS COVERS target/truth_cache)
