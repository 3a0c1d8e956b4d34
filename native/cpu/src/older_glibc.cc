// Binds the thread functions to the versions that glibc had before 2.34 moved them into libc.so, so that an addon built on
// a newer system loads on an older one. The linker sends every call here (--wrap in CMakeLists.txt), also those of the
// static libstdc++.
#if defined(__linux__)
#include <features.h>
#endif

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <pthread.h>

#if defined(__x86_64__)
#define CUDNN_RNN_OLDEST "GLIBC_2.2.5"
#else
#define CUDNN_RNN_OLDEST "GLIBC_2.17"
#endif

extern "C" {

__asm__(".symver older_create, pthread_create@" CUDNN_RNN_OLDEST);
__asm__(".symver older_join, pthread_join@" CUDNN_RNN_OLDEST);
__asm__(".symver older_once, pthread_once@" CUDNN_RNN_OLDEST);
__asm__(".symver older_mutex_trylock, pthread_mutex_trylock@" CUDNN_RNN_OLDEST);

int older_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int older_join(pthread_t, void**);
int older_once(pthread_once_t*, void (*)());
int older_mutex_trylock(pthread_mutex_t*);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return older_create(thread, attributes, start, argument);
}
int __wrap_pthread_join(pthread_t thread, void** result) { return older_join(thread, result); }
int __wrap_pthread_once(pthread_once_t* control, void (*routine)()) { return older_once(control, routine); }
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) { return older_mutex_trylock(mutex); }

}  // extern "C"

#endif
