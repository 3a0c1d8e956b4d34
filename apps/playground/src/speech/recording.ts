/** A recording, as the models take it. */
export interface Recording {
  readonly name: string
  readonly samples: Float32Array
}
