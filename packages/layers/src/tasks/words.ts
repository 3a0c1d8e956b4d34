/**
 * Words in lower case, numbers by their count of digits, and significant punctuation. Letters keep their combining marks, and
 * both forms of an accented letter, composed and decomposed, are one word.
 */
export function wordsOf(text: string): string[] {
  const words =
    text
      .normalize('NFC')
      .toLowerCase()
      .match(/\p{L}[\p{L}\p{M}]*(?:'\p{L}[\p{L}\p{M}]*)?|\p{N}+|[!?$%@#]/gu) ?? []
  return words.map((word) => (/^\p{N}/u.test(word) ? `<${word.length} digits>` : word))
}

/** Words that occur twice or more, most frequent first; of equals the alphabet decides. */
export function mostFrequentWords(texts: readonly string[], count: number): string[] {
  const counts = new Map<string, number>()
  for (const text of texts) for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts]
    .filter(([, occurrences]) => occurrences > 1)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([word]) => word)
}
