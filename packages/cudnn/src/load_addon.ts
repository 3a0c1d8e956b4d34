import { type LoadedAddon, loadNativeAddon } from '@cudnn-rnn/ops/executor'
import type { NativeAddon } from './sys/native_addon.js'

/** Loads the addon of this executor; `CUDNN_RNN_CUDNN_ADDON` names another file. */
export function loadAddon(): LoadedAddon<NativeAddon> {
  return loadNativeAddon('cudnn', import.meta.url)
}
