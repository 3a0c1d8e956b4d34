import type { Classification } from '@cudnn-rnn/rnn/tasks'
import type { SourceText } from './text_source.js'

/** A text with its class. */
export interface ClassifiedText extends SourceText {
  readonly result: Classification
}
