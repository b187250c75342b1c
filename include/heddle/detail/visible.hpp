// Which names a shared libheddle exports: those of the public headers. The library is compiled with
// hidden visibility, and each public header opens its namespace with this attribute. So a program
// that is itself compiled with -fvisibility=hidden shares types and exceptions with the library.
#pragma once

#if defined(__GNUC__) && !defined(__CUDACC_RTC__)
#define HEDDLE_VISIBLE __attribute__((visibility("default")))
#else
#define HEDDLE_VISIBLE
#endif
// A class that a public header declares, and only the library defines.
#if defined(HEDDLE_MAKES_SHARED)
#define HEDDLE_HIDDEN __attribute__((visibility("hidden")))
#else
#define HEDDLE_HIDDEN
#endif
