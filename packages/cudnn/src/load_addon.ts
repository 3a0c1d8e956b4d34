import { type LoadedAddon, loadNativeAddon } from '@cudnn-rnn/ops/executor'
import type { NativeAddon } from './sys/native_addon.js'

/** Advice of the error for a missing addon. */
export const ADDON_ADVICE =
  'Install optional dependencies too: the addon is one. In the repository, `npm run build:native` builds it if a C++ compiler and CMake are installed.'

/** Loads the addon of this executor; `CUDNN_RNN_CUDNN_ADDON` names another file. */
export function loadAddon(): LoadedAddon<NativeAddon> {
  return loadNativeAddon('cudnn', import.meta.url)
}
