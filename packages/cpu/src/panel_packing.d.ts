import { type CanonicalParams, type FloatArray, type RnnDescriptor } from '@cudnn-rnn/canonical';
import type { NativeNetwork } from './native_addon.js';
/** Copies canonical tensors into the opaque buffer `params`. Throws as `packCanonical`. */
export declare function packPanels(network: NativeNetwork, descriptor: RnnDescriptor, canonical: CanonicalParams, params: FloatArray): FloatArray;
/** The canonical tensors of the opaque buffer `params`: the inverse of {@link packPanels}, bit for bit. */
export declare function unpackPanels(network: NativeNetwork, descriptor: RnnDescriptor, params: FloatArray, allocate: (length: number) => FloatArray): CanonicalParams;
