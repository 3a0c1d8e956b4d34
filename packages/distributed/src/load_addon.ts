import { type LoadedAddon, loadNativeAddon } from '@cudnn-rnn/ops/executor'
import type { NativeAddon } from './mpi/native_addon.js'

/** Loads the addon of MPI; `CUDNN_RNN_MPI_ADDON` names another file. */
export function loadAddon(): LoadedAddon<NativeAddon> {
  return loadNativeAddon('mpi', import.meta.url)
}
