/**
 * Choices of test generators: the same seed makes the same files on every machine. Private: no product imports it.
 *
 * @packageDocumentation
 */
export {
  type ConstructedFile,
  type FuzzCounts,
  type FuzzOptions,
  fuzzFiles,
  type Grammar,
} from './fuzz_files.js'
export { mutatedJson } from './mutated_json.js'
export { Random } from './random.js'
