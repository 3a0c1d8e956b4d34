import type { Hdf5Input } from './hdf5_mount.js'
import type { Hdf5Session } from './hdf5_session.js'

/** Requests about an open HDF5 file: the methods of a session. */
export type Hdf5Calls = Omit<Hdf5Session, 'isSound'>
export type Hdf5Call = keyof Hdf5Calls

/** To the thread of the library. */
export type Hdf5Request =
  | { readonly open: Hdf5Input }
  | { readonly call: Hdf5Call; readonly parameters: readonly unknown[] }

/** From the thread of the library, in the order of the requests. */
export type Hdf5Answer = ({ readonly value: unknown } | { readonly error: SentError }) & {
  /** False once the library failed: the thread serves no other file. */
  readonly isSound: boolean
}

/** An error as it is sent: a copy of an Error would lose its code. */
export interface SentError {
  readonly code: unknown
  readonly message: string
  readonly cause: string
}
