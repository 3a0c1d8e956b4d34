/**
 * The name that Keras gives an object of a class within its container: `SimpleRNN` is `simple_rnn`, a second one
 * `simple_rnn_1`. Source: keras/src/utils/naming.py, to_snake_case.
 *
 * @param counts of the names in the container, by name without number.
 */
export function uniqueKerasName(counts: Map<string, number>, className: string): string {
  const base = className
    .replaceAll(/\W+/g, '')
    .replaceAll(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
  const count = counts.get(base) ?? 0
  counts.set(base, count + 1)
  return count === 0 ? base : `${base}_${count}`
}
