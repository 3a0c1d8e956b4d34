/** Counters of the emulated machine. */
export interface EmulatorReport {
  /** Live things by kind: "device bytes", "streams", "cudnn handles", … Zero again when everything was released. */
  readonly live: Readonly<Record<string, number>>
  /** Calls by symbol since the last reset. */
  readonly calls: Readonly<Record<string, number>>
  /**
   * Bytes copied since the last reset by direction, "host to device", "device to host", …; copies in graphs included.
   */
  readonly copied: Readonly<Record<string, number>>
  /** Rules that were broken since the last reset, in words. */
  readonly violations: readonly string[]
}

export interface CudaEmulator {
  readonly problem?: undefined
  /** The folder to give a loader as its library folder. */
  readonly folder: string
  /**
   * Changes the machine: `name=value` pairs with `;` between them, see README.md. Throws for a name it does not know.
   */
  configure(settings: string): void
  report(): EmulatorReport
}

export function buildCudaEmulator(options?: {
  /** `address,undefined` or `thread`. */
  readonly sanitize?: string
  /** Also the test programs of the emulator itself, for ctest. */
  readonly tests?: boolean
}): { readonly build: string; readonly problem?: undefined } | { readonly problem: string }

export function openCudaEmulator(version?: 8 | 9): CudaEmulator | { readonly problem: string }

export function copyLibraries(
  folder: string,
  options?: { readonly withoutFiles?: readonly string[]; readonly withoutSymbols?: readonly string[] },
): string
