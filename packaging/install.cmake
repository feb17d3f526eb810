# What `cmake --install` lays out besides the program. Configuration and state live in /etc and /var whatever the prefix.
configure_file(packaging/man/assayd.8.in assayd.8.in @ONLY)
configure_file(packaging/man/assayd.conf.5.in assayd.conf.5.in @ONLY)
configure_file(packaging/man/assayd-formulas.7.in assayd-formulas.7.in @ONLY)
configure_file(packaging/man/assayd-operations.7.in assayd-operations.7.in @ONLY)

# The references of settings, features, diagnostics and formulas come from the tables that the program itself reads.
add_executable(print_reference packaging/man/print_reference.c)
target_link_libraries(print_reference PRIVATE assayd_config assayd_score assayd_sql_findings)
set(manual_pages assayd.8 assayd.conf.5 assayd-formulas.7 assayd-operations.7)
foreach(page IN LISTS manual_pages)
  add_custom_command(
    OUTPUT ${page}
    COMMAND print_reference ${CMAKE_BINARY_DIR}/${page}.in > ${CMAKE_BINARY_DIR}/${page}
    DEPENDS print_reference ${CMAKE_BINARY_DIR}/${page}.in
    VERBATIM)
endforeach()
add_custom_target(manual_pages ALL DEPENDS ${manual_pages})
# To read them without a build of all: cmake --build build/release --target man
add_custom_target(man COMMAND ${CMAKE_COMMAND} -E echo "read them with: man -l ${CMAKE_BINARY_DIR}/assayd.8"
  DEPENDS ${manual_pages} VERBATIM)

install(TARGETS assayd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(FILES ${CMAKE_BINARY_DIR}/assayd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES ${CMAKE_BINARY_DIR}/assayd.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${CMAKE_BINARY_DIR}/assayd-formulas.7 ${CMAKE_BINARY_DIR}/assayd-operations.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(DIRECTORY schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/assayd FILES_MATCHING PATTERN *.avsc PATTERN *.sql PATTERN asyncapi.yaml PATTERN *.schema.json)
install(DIRECTORY conf/prompts conf/monitoring DESTINATION ${CMAKE_INSTALL_DATADIR}/assayd)
install(FILES packaging/completion/assayd DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES systemd/assayd.service DESTINATION lib/systemd/system)
install(FILES systemd/assayd.sysusers DESTINATION lib/sysusers.d RENAME assayd.conf)
install(FILES systemd/assayd.tmpfiles DESTINATION lib/tmpfiles.d RENAME assayd.conf)

# An upgrade leaves the configuration alone.
install(CODE "
  if(NOT EXISTS \"\$ENV{DESTDIR}/etc/assayd/assayd.conf\")
    file(INSTALL \"${CMAKE_SOURCE_DIR}/conf/assayd.conf\" DESTINATION /etc/assayd)
  endif()")
