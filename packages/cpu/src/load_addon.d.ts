import type { BackendAttempt } from '@cudnn-rnn/backend';
import type { NativeAddon } from './native_addon.js';
/** The addon, or what was tried to load it. */
export type LoadedAddon = {
    readonly addon: NativeAddon;
    readonly attempts: readonly BackendAttempt[];
} | {
    readonly addon: undefined;
    readonly attempts: readonly BackendAttempt[];
};
/**
 * Loads the native addon: from the file that `CUDNN_RNN_CPU_ADDON` names and nowhere else, or from the platform package,
 * or from a build in this repository.
 */
export declare function loadAddon(environment?: NodeJS.ProcessEnv): LoadedAddon;
