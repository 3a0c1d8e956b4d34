import { type LoadedAddon, loadNativeAddon } from '@cudnn-rnn/executor-kit'
import type { NativeAddon } from './native_addon.js'

/** Loads the addon of this executor; `CUDNN_RNN_CPU_ADDON` names another file. */
export function loadAddon(): LoadedAddon<NativeAddon> {
  return loadNativeAddon('cpu', import.meta.url)
}
