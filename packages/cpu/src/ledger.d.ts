import type { BackendStats } from '@cudnn-rnn/backend';
/** Counts what is alive; every owner adds itself when it is made and removes itself when it is disposed. */
export declare class Ledger {
    #private;
    add(kind: Exclude<keyof BackendStats, 'bytes'>, bytes?: number): void;
    remove(kind: Exclude<keyof BackendStats, 'bytes'>, bytes?: number): void;
    snapshot(): BackendStats;
}
