// Binds the functions that glibc 2.34 moved into libc.so to the versions they had before, so that an addon built on a newer
// system loads on an older one. The linker sends every call here (--wrap in CMakeLists.txt), also those of the static
// libstdc++. Where the old versions live in libdl and libpthread, Node.js has opened both.
#if defined(__linux__)
#include <features.h>
#endif

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <pthread.h>

#if defined(__x86_64__)
#define CUDNN_RNN_OLDEST "GLIBC_2.2.5"
#define CUDNN_RNN_OLDEST_DLINFO "GLIBC_2.3.3"
#else
#define CUDNN_RNN_OLDEST "GLIBC_2.17"
#define CUDNN_RNN_OLDEST_DLINFO "GLIBC_2.17"
#endif

extern "C" {

__asm__(".symver older_create, pthread_create@" CUDNN_RNN_OLDEST);
__asm__(".symver older_join, pthread_join@" CUDNN_RNN_OLDEST);
__asm__(".symver older_once, pthread_once@" CUDNN_RNN_OLDEST);
// std::condition_variable::wait_for; new in 2.30.
__asm__(".symver older_clockwait, pthread_cond_clockwait@GLIBC_2.30");
__asm__(".symver older_open, dlopen@" CUDNN_RNN_OLDEST);
__asm__(".symver older_symbol, dlsym@" CUDNN_RNN_OLDEST);
__asm__(".symver older_error, dlerror@" CUDNN_RNN_OLDEST);
__asm__(".symver older_info, dlinfo@" CUDNN_RNN_OLDEST_DLINFO);

int older_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int older_join(pthread_t, void**);
int older_once(pthread_once_t*, void (*)());
int older_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
void* older_open(const char*, int);
void* older_symbol(void*, const char*);
char* older_error();
int older_info(void*, int, void*);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return older_create(thread, attributes, start, argument);
}
int __wrap_pthread_join(pthread_t thread, void** result) { return older_join(thread, result); }
int __wrap_pthread_once(pthread_once_t* control, void (*routine)()) { return older_once(control, routine); }
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  return older_clockwait(condition, mutex, clock, until);
}
void* __wrap_dlopen(const char* file, int mode) { return older_open(file, mode); }
void* __wrap_dlsym(void* library, const char* name) { return older_symbol(library, name); }
char* __wrap_dlerror() { return older_error(); }
int __wrap_dlinfo(void* library, int request, void* info) { return older_info(library, request, info); }

}  // extern "C"

#endif
