import { OpenTape, type RnnPassSizes } from '@cudnn-rnn/backend';
import { type FloatArray } from '@cudnn-rnn/canonical';
import type { Ledger } from './ledger.js';
import type { NativeTape } from './native_addon.js';
/** What a training forward of the CPU executor keeps. */
export interface TapeContents {
    /** The network that ran the forward; its backward compares it with itself. */
    readonly rnn: object;
    readonly sizes: RnnPassSizes;
    readonly params: FloatArray;
    readonly input: FloatArray;
    readonly native: NativeTape;
    /** Operands the backward reads again, by their names in the public API. */
    readonly operands: Readonly<Record<string, unknown>>;
}
/** The tape of one training forward. */
export declare class CpuTape extends OpenTape {
    #private;
    constructor(ledger: Ledger, contents: TapeContents);
    /** The contents of an open tape. Throws as `checkOpen`, and RangeError `ERR_TAPE_STALE` for overwritten operands. */
    contents(): TapeContents;
    protected release(): void;
}
