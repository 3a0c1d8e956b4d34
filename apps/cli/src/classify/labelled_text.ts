/** A text and the class it belongs to. */
export interface LabelledText {
  readonly text: string
  readonly label: string
}
