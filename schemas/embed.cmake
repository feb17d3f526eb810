# Compiles files into the binary. Included by CMakeLists.txt it gives assayd_embed(target file…): every file
# becomes ${CMAKE_BINARY_DIR}/generated/<file>.inc, its bytes and a NUL as a list of numbers to be #included
# in an array. Run as a script (INPUT, OUTPUT) it writes one such list.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${INPUT} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}00")
  file(WRITE ${OUTPUT} "${bytes}\n")
  return()
endif()

set(ASSAYD_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(assayd_embed target)
  foreach(file IN LISTS ARGN)
    set(input ${CMAKE_SOURCE_DIR}/${file})
    set(output ${CMAKE_BINARY_DIR}/generated/${file}.inc)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -P ${ASSAYD_EMBED_SCRIPT}
      DEPENDS ${input} ${ASSAYD_EMBED_SCRIPT} VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endforeach()
endfunction()
