# The built-in prompts are the files of conf/prompts, so that there is one text of each: this writes them as byte arrays
# into generated/judge/builtin_prompts.inc and reconfigures when one of them changes.
set(assayd_prompt_arrays "")
foreach(prompt relevance correctness)
  set(prompt_file ${CMAKE_SOURCE_DIR}/conf/prompts/${prompt}.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${prompt_file})
  file(READ ${prompt_file} prompt_hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," prompt_bytes "${prompt_hex}")
  string(APPEND assayd_prompt_arrays "static const char builtin_${prompt}[] = { ${prompt_bytes} 0 };\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/judge/builtin_prompts.inc CONTENT "${assayd_prompt_arrays}" @ONLY)
