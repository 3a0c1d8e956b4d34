/**
 * File operations that several packages share. Private: part of the builds that use it.
 *
 * @packageDocumentation
 */
export { makeDirectory } from './make_directory.js'
