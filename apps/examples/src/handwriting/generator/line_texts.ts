import type { Philox } from '@cudnn-rnn/rnn/executors'

/** The characters of the model; class `ALPHABET.length` is the blank of CTC. */
export const ALPHABET: readonly string[] = [...' abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:\'"!?-']

/** The share of a book, from its end, whose words are in no line of the training. */
const HELD_OUT = 0.1

/** The words of a book that can be spelled in {@link ALPHABET}: for training, and held out. */
export function wordsOf(book: string): { readonly training: readonly string[]; readonly heldOut: readonly string[] } {
  const plain = book.replace(/[‘’]/g, "'").replace(/[“”]/g, '"').replace(/[—–]/g, '-')
  const letters = new Set(ALPHABET)
  const words = plain.split(/\s+/).filter((word) => word !== '' && [...word].every((letter) => letters.has(letter)))
  const cut = Math.floor(words.length * (1 - HELD_OUT))
  return { training: words.slice(0, cut), heldOut: words.slice(cut) }
}

/** Successive words from a random place on, as many as fit, and one at least. */
export function randomText(words: readonly string[], fits: (text: string) => boolean, random: Philox): string {
  let at = Math.floor(random.uniform() * words.length)
  let text = words[at]
  for (;;) {
    at = (at + 1) % words.length
    const longer = `${text} ${words[at]}`
    if (!fits(longer)) return text
    text = longer
  }
}

/** The labels of a text: places in {@link ALPHABET}. */
export function labelsOf(text: string): number[] {
  return [...text].map((letter) => ALPHABET.indexOf(letter))
}

export function textOf(labels: readonly number[]): string {
  return labels.map((label) => ALPHABET[label]).join('')
}
