import type { Random } from './random.js'

/** JSON values that a reader may take for something else: objects without a text, numbers beyond every type, names of prototypes. */
const HOSTILE: readonly string[] = [
  '{"toString":1,"valueOf":1}',
  '{"toString":{"call":1},"length":3,"0":"a"}',
  '{"__proto__":{"polluted":true}}',
  ...['{}', '[]', '[[]]', '[null]', '[1e308]', '[-1]', 'null', 'true', 'false'],
  ...['0', '-1', '0.5', '1e308', '-1e308', '2147483648', '9007199254740993', '4294967296'],
  ...['""', '"constructor"', '"__proto__"', '"toString"', '"NaN"', '"1"', '"\\u001b]0;x\\u0007"', '"\\ud800"', '"a/b"'],
  `"${'a'.repeat(5000)}"`,
  `${'['.repeat(200)}${']'.repeat(200)}`,
]

/** A place of a JSON value: the object or array that holds it, and its key there. */
type Place = readonly [holder: Record<string, unknown>, key: string]

/** A copy of a JSON value of which up to three places hold a hostile value, another place's, or nothing. */
export function mutatedJson(value: unknown, random: Random): unknown {
  const copy: { root: unknown } = { root: JSON.parse(JSON.stringify(value)) }
  for (let count = 1 + random.below(3); count > 0; count--) {
    const places = placesIn(copy)
    const [holder, key] = random.pick(places)
    const choice = random.below(10)
    if (choice === 0 && key !== 'root') {
      if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else delete holder[key]
      continue
    }
    const [other, from] = random.pick(places)
    const text = choice < 3 ? JSON.stringify(other[from]) : random.pick(HOSTILE)
    // An assignment to __proto__ would be one of the prototype.
    const name = choice === 9 && !Array.isArray(holder) && key !== 'root' ? random.pick(NAMES) : key
    Object.defineProperty(holder, name, {
      value: JSON.parse(text),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return copy.root
}

const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '']

function placesIn(holder: object): Place[] {
  return Object.entries(holder).flatMap(([key, value]): Place[] => [
    [holder as Record<string, unknown>, key],
    ...(typeof value === 'object' && value !== null ? placesIn(value) : []),
  ])
}
