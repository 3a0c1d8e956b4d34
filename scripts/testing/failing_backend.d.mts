interface Executor {
  readonly ops: object
}

/** The backend, whose call number `call` throws. Calls of its operations are counted too; `count` is called at each. */
export declare function failingAt<Backend extends Executor>(backend: Backend, call: number, count?: () => void): Backend

/** How many calls `run` makes. */
export declare function callsOf<Backend extends Executor>(backend: Backend, run: (backend: Backend) => void): number
