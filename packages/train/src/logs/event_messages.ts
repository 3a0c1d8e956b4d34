import { double, encodeMessage, float, littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import type { Histogram } from './histogram.js'

/**
 * TensorBoard's messages, field numbers from tensorflow/core/util/event.proto and framework/{summary,tensor}.proto:
 * Event { wall_time 1 double, step 2 int64, file_version 3 string, summary 5, session_log 7 }; Summary { value 1 repeated };
 * Value { tag 1, simple_value 2 float, histo 5, tensor 8, metadata 9 }.
 */
export function versionEvent(wallTime: number): Uint8Array {
  return encodeMessage({ 1: double(wallTime), 3: 'brain.Event:2' })
}

/** SessionLog { status 1 (START 1) }: events of this step and later, in earlier files of the run, no longer count. */
export function sessionStartEvent(wallTime: number, step: number): Uint8Array {
  return encodeMessage({ 1: double(wallTime), 2: step, 7: encodeMessage({ 1: 1 }) })
}

/** A number at a step. */
export function scalarEvent(wallTime: number, step: number, tag: string, value: number): Uint8Array {
  return summaryEvent(wallTime, step, tag, { 2: float(value) })
}

/** HistogramProto: min 1, max 2, num 3, sum 4, sum_squares 5, bucket_limit 6 packed, bucket 7 packed. */
export function histogramEvent(wallTime: number, step: number, tag: string, histogram: Histogram): Uint8Array {
  const { min, max, num, sum, sumSquares, limits, counts } = histogram
  const packed = (values: readonly number[]) => littleEndianBytes(Float64Array.from(values))
  const numbers = { 1: double(min), 2: double(max), 3: double(num), 4: double(sum), 5: double(sumSquares) }
  return summaryEvent(wallTime, step, tag, { 5: encodeMessage({ ...numbers, 6: packed(limits), 7: packed(counts) }) })
}

/** TensorProto { dtype 1 (DT_STRING 7), tensor_shape 2 (none: a scalar), string_val 8 }, marked for the text plugin. */
export function textEvent(wallTime: number, step: number, tag: string, text: string): Uint8Array {
  // SummaryMetadata { plugin_data 1 { plugin_name 1 } }
  const metadata = encodeMessage({ 1: encodeMessage({ 1: 'text' }) })
  return summaryEvent(wallTime, step, tag, { 8: encodeMessage({ 1: 7, 2: encodeMessage({}), 8: text }), 9: metadata })
}

function summaryEvent(wallTime: number, step: number, tag: string, value: Parameters<typeof encodeMessage>[0]) {
  const summary = encodeMessage({ 1: encodeMessage({ 1: tag, ...value }) })
  return encodeMessage({ 1: double(wallTime), 2: step, 5: summary })
}
