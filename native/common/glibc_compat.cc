// Binds the functions that glibc 2.34 moved into libc.so, and the ones of libm that 2.29 renewed, to the versions that
// they had before, so that an addon built on a newer system loads on an older one. The linker sends every call here
// (--wrap in addon.cmake), the static libstdc++'s included. The old versions are in libraries that Node.js has
// opened; the ones of libm compute the same numbers. Symbol versions:
// https://sourceware.org/glibc/wiki/Release/2.34#Move_of_all_symbols_from_libpthread
#if defined(__linux__)
#include <features.h>
#endif

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <pthread.h>

// The first version of glibc on the architecture.
#if defined(__x86_64__)
#define CUDNN_RNN_FIRST "GLIBC_2.2.5"
#define CUDNN_RNN_FIRST_DLINFO "GLIBC_2.3.3"
#else
#define CUDNN_RNN_FIRST "GLIBC_2.17"
#define CUDNN_RNN_FIRST_DLINFO "GLIBC_2.17"
#endif

extern "C" {

__asm__(".symver compat_create, pthread_create@" CUDNN_RNN_FIRST);
__asm__(".symver compat_join, pthread_join@" CUDNN_RNN_FIRST);
__asm__(".symver compat_detach, pthread_detach@" CUDNN_RNN_FIRST);
__asm__(".symver compat_once, pthread_once@" CUDNN_RNN_FIRST);
__asm__(".symver compat_mutex_trylock, pthread_mutex_trylock@" CUDNN_RNN_FIRST);
// std::condition_variable::wait_for calls it; it is new in 2.30.
__asm__(".symver compat_cond_clockwait, pthread_cond_clockwait@GLIBC_2.30");
__asm__(".symver compat_exp, exp@" CUDNN_RNN_FIRST);
__asm__(".symver compat_log, log@" CUDNN_RNN_FIRST);
__asm__(".symver compat_pow, pow@" CUDNN_RNN_FIRST);
__asm__(".symver compat_dlopen, dlopen@" CUDNN_RNN_FIRST);
__asm__(".symver compat_dlsym, dlsym@" CUDNN_RNN_FIRST);
__asm__(".symver compat_dlerror, dlerror@" CUDNN_RNN_FIRST);
__asm__(".symver compat_dlinfo, dlinfo@" CUDNN_RNN_FIRST_DLINFO);

int compat_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int compat_join(pthread_t, void**);
int compat_detach(pthread_t);
int compat_once(pthread_once_t*, void (*)());
int compat_mutex_trylock(pthread_mutex_t*);
int compat_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
double compat_exp(double);
double compat_log(double);
double compat_pow(double, double);
void* compat_dlopen(const char*, int);
void* compat_dlsym(void*, const char*);
char* compat_dlerror();
int compat_dlinfo(void*, int, void*);

// The linker's --wrap gives the names.
// NOLINTBEGIN(bugprone-reserved-identifier)
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return compat_create(thread, attributes, start, argument);
}
int __wrap_pthread_join(pthread_t thread, void** result) { return compat_join(thread, result); }
int __wrap_pthread_detach(pthread_t thread) { return compat_detach(thread); }
int __wrap_pthread_once(pthread_once_t* control, void (*routine)()) { return compat_once(control, routine); }
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) { return compat_mutex_trylock(mutex); }
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  return compat_cond_clockwait(condition, mutex, clock, until);
}
double __wrap_exp(double x) { return compat_exp(x); }
double __wrap_log(double x) { return compat_log(x); }
double __wrap_pow(double x, double y) { return compat_pow(x, y); }
void* __wrap_dlopen(const char* file, int mode) { return compat_dlopen(file, mode); }
void* __wrap_dlsym(void* library, const char* name) { return compat_dlsym(library, name); }
char* __wrap_dlerror() { return compat_dlerror(); }
int __wrap_dlinfo(void* library, int request, void* info) { return compat_dlinfo(library, request, info); }
// NOLINTEND(bugprone-reserved-identifier)

// libstdc++ counts references without atomic instructions while this is true. The variable of the C library is new
// in 2.32.
extern char __libc_single_threaded;
char __libc_single_threaded __attribute__((visibility("hidden"))) = 0;

}  // extern "C"

#endif
