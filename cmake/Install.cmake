# `cmake --install`: the library, its headers, the program, and the package that
# find_package(heddle) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(heddle_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")
set(heddle_libraries heddle heddle_all)
set(heddle_pc_observe "")
if(HEDDLE_OBSERVE)
    list(APPEND heddle_libraries heddle_observe)
    set(heddle_pc_observe " -Xlinker --undefined=heddle_observers -lheddle_observe")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
else()
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp"
        PATTERN "heddle/observe" EXCLUDE)
endif()
# A library under ThreadSanitizer is installed beside another one, as the component `tsan`.
set(heddle_is_tsan FALSE)
if("thread" IN_LIST HEDDLE_SANITIZE)
    set(heddle_is_tsan TRUE)
    set_target_properties(heddle PROPERTIES OUTPUT_NAME heddle_tsan EXPORT_NAME tsan_runtime)
    set_target_properties(heddle_all PROPERTIES EXPORT_NAME tsan)
    if(HEDDLE_OBSERVE)
        set_target_properties(heddle_observe PROPERTIES
            OUTPUT_NAME heddle_observe_tsan EXPORT_NAME tsan_observe)
    endif()
    target_compile_options(heddle INTERFACE "$<INSTALL_INTERFACE:-fsanitize=thread>")
    target_link_options(heddle INTERFACE "$<INSTALL_INTERFACE:-fsanitize=thread>")
    install(TARGETS ${heddle_libraries} EXPORT heddleTsanTargets)
    install(EXPORT heddleTsanTargets NAMESPACE heddle:: DESTINATION "${heddle_package_dir}")
else()
    install(TARGETS ${heddle_libraries} EXPORT heddleTargets)
    install(EXPORT heddleTargets NAMESPACE heddle:: DESTINATION "${heddle_package_dir}")
endif()
if(TARGET heddle_tool)
    # For a shared libheddle.
    file(RELATIVE_PATH heddle_bin_to_lib "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(heddle_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${heddle_bin_to_lib}")
    install(TARGETS heddle_tool)
endif()

# The notices of the software that is compiled in.
install(FILES "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# gdb's pretty-printers: for `source`, and for a shared libheddle also where gdb looks for them.
set(heddle_gdb_printers "${PROJECT_SOURCE_DIR}/src/tool/gdb/heddle_gdb.py")
install(FILES "${heddle_gdb_printers}" DESTINATION "${CMAKE_INSTALL_DATADIR}/heddle")
get_target_property(heddle_type heddle TYPE)
if(heddle_type STREQUAL "SHARED_LIBRARY")
    install(FILES "${heddle_gdb_printers}"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load/${CMAKE_INSTALL_FULL_LIBDIR}"
        RENAME "$<TARGET_FILE_NAME:heddle>-gdb.py")
endif()

# The static CUDA runtime is installed with the library, for projects on machines without a toolkit
# (NVIDIA lists it among the files that may be redistributed).
set(heddle_cudart_dir "${CMAKE_INSTALL_LIBDIR}/heddle")
set(heddle_cuda_version "")
if(HEDDLE_WITH_CUDA)
    set(heddle_cuda_version "${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR}")
    install(FILES "${CUDA_cudart_static_LIBRARY}" DESTINATION "${heddle_cudart_dir}")
endif()
# pkg-config's file, for builds without CMake. It finds the prefix from where it lies.
if(NOT heddle_is_tsan)
    set(heddle_pc_cudart "")
    if(HEDDLE_WITH_CUDA)
        set(heddle_pc_cudart " -L\${libdir}/heddle -lcudart_static -ldl -lrt")
    endif()
    file(RELATIVE_PATH heddle_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" heddle_pc_to_prefix "${heddle_pc_to_prefix}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/heddle.pc.in" "${PROJECT_BINARY_DIR}/heddle.pc"
        @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/heddle.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/heddleConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/heddleConfig.cmake" INSTALL_DESTINATION "${heddle_package_dir}"
    PATH_VARS heddle_cudart_dir)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
set(heddle_package_files
    "${PROJECT_BINARY_DIR}/heddleConfig.cmake"
    "${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/heddleBuildType.cmake")
if(heddle_is_tsan)
    # The other library's package knows whether it has CUDA.
    install(CODE "
        cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX OUTPUT_VARIABLE prefix)
        set(package \"\$ENV{DESTDIR}\${prefix}/${heddle_package_dir}\")
        if(NOT EXISTS \"\${package}/heddleConfig.cmake\")
            file(INSTALL ${heddle_package_files} DESTINATION \"\${package}\")
        endif()")
else()
    install(FILES ${heddle_package_files} DESTINATION "${heddle_package_dir}")
endif()
