// The only file that includes Node-API, so that every file of an addon sees it with the same configuration.
#pragma once

#if !defined(NAPI_VERSION) || !defined(NODE_ADDON_API_CPP_EXCEPTIONS)
#error "native/common/addon.cmake defines how Node-API is used"
#endif

#include <napi.h>
