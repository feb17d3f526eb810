# What several tests share, and programs that suites, benchmarks and the quickstart start as processes of their own.
harness(cell_oracle SOURCES oracles/cell_oracle.c WITH assayd_compare PkgConfig::JANSSON m)
harness(database_server SOURCES servers/database_server.c WITH assayd_database PkgConfig::CMOCKA)
harness(counting SOURCES fixtures/counting.c WITH assayd_calibration PkgConfig::CMOCKA)
harness(calibration_rig SOURCES fixtures/calibration_rig.c WITH assayd_calibration PkgConfig::CMOCKA)
harness(labelled SOURCES fixtures/labelled.c WITH assayd_score assayd_sql PkgConfig::SQLITE PkgConfig::JANSSON m)
harness(truths SOURCES fixtures/truths.c WITH assayd_common)
harness(effects SOURCES oracles/effects.c fixtures/fragments.c WITH assayd_common PkgConfig::PQ)
harness(sql_shapes SOURCES mutators/sql_shapes.c WITH assayd_sql)
harness(oracle SOURCES oracles/oracle.c fixtures/hostile_data.c mutators/sql_literals.c mutators/sql_mutants.c
  mutators/sql_mutants_clauses.c mutators/sql_mutants_fill.c mutators/sql_mutants_names.c mutators/sql_mutants_text.c
  mutators/sql_mutants_values.c mutators/sql_mutants_whole.c WITH harness_truths assayd_sql PkgConfig::PQ)
harness(rewrites SOURCES mutators/sql_rewrites_text.c mutators/sql_rewrites_same.c mutators/sql_rewrites_clauses.c
  mutators/sql_rewrites_near.c WITH harness_oracle)
harness(result_oracle SOURCES oracles/result_oracle.c mutators/result_rewrites.c WITH harness_rewrites)

test_program(trial_broker SOURCES harness/servers/trial_broker.c WITH PkgConfig::RDKAFKA IN harness)
test_program(avro_tool SOURCES harness/fixtures/avro_tool.c WITH assayd_avro IN harness)
test_program(resolve_tool SOURCES harness/fixtures/resolve_tool.c WITH assayd_avro IN harness)
test_program(audit_tool SOURCES harness/fixtures/audit_tool.c WITH assayd_audit IN harness)
test_program(mongodb_tool SOURCES harness/fixtures/mongodb_tool.c WITH assayd_target IN harness)
if(NOT ASSAYD_SANITIZE MATCHES "thread")
  add_dependencies(once trial_broker avro_tool resolve_tool audit_tool mongodb_tool)
endif()
