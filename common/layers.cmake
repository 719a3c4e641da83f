# How a layer is declared. The same lists are written to layers.json in the build tree, which
# tests/layers reads: a wrong #include fails there within a second.

# Flags of the whole build: warnings, sanitizers, the linker. Everything else is a target's own.
macro(shardd_toolchain)
    find_package(Threads REQUIRED)
    add_library(shardd_flags INTERFACE)
    target_compile_options(shardd_flags INTERFACE
        -Wall -Wextra $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow> -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
        $<$<BOOL:${SHARDD_WARNINGS_ARE_ERRORS}>:-Werror>)
    target_include_directories(shardd_flags INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(shardd_flags INTERFACE Threads::Threads)
    if(SHARDD_SANITIZE)
        add_compile_options(-fsanitize=${SHARDD_SANITIZE} -fno-sanitize-recover=all)
        add_link_options(-fsanitize=${SHARDD_SANITIZE})
        add_compile_definitions(SHARDD_SANITIZED)
    endif()
    if(SHARDD_FUZZ)
        add_compile_options(-fsanitize=fuzzer-no-link)
    endif()
    find_program(SHARDD_MOLD mold)
    if(SHARDD_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()
endmacro()

set_property(GLOBAL PROPERTY SHARDD_LAYERS "")

# shardd_layer(server/exec SOURCES a.cpp HEADERS a.h MAY_USE common/base LIBRARIES fmt::fmt)
# makes the static library shardd_server_exec of the current folder. MAY_USE names the layers whose
# headers it may include; they are linked to whoever uses this one. LIBRARIES are third parties,
# PRIVATE_LIBRARIES those that no header of the layer shows. COLD: nothing here runs once a row, so that a release need not
# optimise it to the utmost, which takes a third of the time of compiling. PRECOMPILED are headers that most of its sources include:
# with SHARDD_PRECOMPILED_HEADERS they are read once a layer. Sources include what they use all the same, which the
# presets without it check.
function(shardd_layer name)
    cmake_parse_arguments(LAYER "COLD" "" "SOURCES;HEADERS;MAY_USE;LIBRARIES;PRIVATE_LIBRARIES;PRECOMPILED" ${ARGN})
    string(REPLACE "/" "_" target "shardd_${name}")
    if(LAYER_SOURCES)
        add_library(${target} STATIC ${LAYER_SOURCES} ${LAYER_HEADERS})
        set(scope PUBLIC)
        target_link_libraries(${target} PRIVATE ${LAYER_PRIVATE_LIBRARIES})
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        if(LAYER_COLD AND CMAKE_CXX_FLAGS MATCHES "-O[23]")
            target_compile_options(${target} PRIVATE -O1)
        endif()
        if(SHARDD_PRECOMPILED_HEADERS)
            list(TRANSFORM LAYER_PRECOMPILED PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE headers)
            target_precompile_headers(${target} PRIVATE ${headers})
        endif()
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    target_link_libraries(${target} ${scope} shardd_flags ${LAYER_LIBRARIES})
    foreach(used ${LAYER_MAY_USE})
        string(REPLACE "/" "_" used_target "shardd_${used}")
        target_link_libraries(${target} ${scope} ${used_target})
    endforeach()
    string(REPLACE ";" "\",\"" uses "${LAYER_MAY_USE}")
    if(uses)
        set(uses "\"${uses}\"")
    endif()
    set_property(GLOBAL APPEND PROPERTY SHARDD_LAYERS "\"${name}\":[${uses}]")
endfunction()

# Writes what shardd_layer() collected; called once, after all layers are declared.
function(shardd_write_layers path)
    get_property(layers GLOBAL PROPERTY SHARDD_LAYERS)
    string(REPLACE ";" ",\n" layers "${layers}")
    file(WRITE ${path} "{\n${layers}\n}\n")
endfunction()
