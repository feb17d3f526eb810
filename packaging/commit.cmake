# Writes OUT, a header with the commit that is built as what follows the version: "+0123456789ab", with ".dirty" where files differ from it; ""
# outside of a checkout, unless COMMIT says otherwise. OUT is left alone where it says the same already.
if(NOT COMMIT)
  find_package(Git QUIET)
  if(GIT_FOUND)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0
      ${GIT_EXECUTABLE} describe --always --exclude=* --abbrev=12 --dirty=.dirty
      WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endif()
if(COMMIT)
  string(PREPEND COMMIT "+")
endif()
set(content "#define ASSAYD_COMMIT \"${COMMIT}\"\n")
set(former "")
if(EXISTS ${OUT})
  file(READ ${OUT} former)
endif()
if(NOT former STREQUAL content)
  file(WRITE ${OUT} "${content}")
endif()
