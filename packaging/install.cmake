# What `cmake --install` lays out besides the program. Configuration and state live in /etc and /var whatever the prefix.
configure_file(packaging/man/assayd.8.in assayd.8 @ONLY)
configure_file(packaging/man/assayd.conf.5.in assayd.conf.5.in @ONLY)

# The reference of the settings comes from the table that the program itself reads.
add_executable(print_reference packaging/man/print_reference.c)
target_link_libraries(print_reference PRIVATE assayd_config)
add_custom_command(
  OUTPUT assayd.conf.5
  COMMAND print_reference ${CMAKE_BINARY_DIR}/assayd.conf.5.in > ${CMAKE_BINARY_DIR}/assayd.conf.5
  DEPENDS print_reference ${CMAKE_BINARY_DIR}/assayd.conf.5.in
  VERBATIM)
add_custom_target(manual_pages ALL DEPENDS ${CMAKE_BINARY_DIR}/assayd.conf.5)

install(TARGETS assayd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(FILES ${CMAKE_BINARY_DIR}/assayd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES ${CMAKE_BINARY_DIR}/assayd.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(DIRECTORY schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/assayd FILES_MATCHING PATTERN *.avsc PATTERN *.sql)
install(DIRECTORY conf/prompts conf/monitoring DESTINATION ${CMAKE_INSTALL_DATADIR}/assayd)
install(FILES systemd/assayd.service DESTINATION lib/systemd/system)
install(FILES systemd/assayd.sysusers DESTINATION lib/sysusers.d RENAME assayd.conf)
install(FILES systemd/assayd.tmpfiles DESTINATION lib/tmpfiles.d RENAME assayd.conf)

# An upgrade leaves the configuration alone.
install(CODE "
  if(NOT EXISTS \"\$ENV{DESTDIR}/etc/assayd/assayd.conf\")
    file(INSTALL \"${CMAKE_SOURCE_DIR}/conf/assayd.conf\" DESTINATION /etc/assayd)
  endif()")
