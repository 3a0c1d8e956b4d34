/**
 * Choices of test generators: the same seed makes the same files on every machine. Private: no product imports it.
 *
 * @packageDocumentation
 */
export { Random } from './random.js'
