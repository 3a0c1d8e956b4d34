import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Histogram } from './histogram.js'

/**
 * TensorBoard's messages, field numbers from tensorflow/core/util/event.proto and framework/{summary,tensor}.proto:
 * Event { wall_time 1 double, step 2 int64, file_version 3 string, summary 5, session_log 7 }; Summary { value 1 repeated };
 * Value { tag 1, simple_value 2 float, histo 5, tensor 8, metadata 9 }.
 */
export function versionEvent(wallTime: number): Uint8Array {
  return new BinaryWriter()
    .tag(1, WireType.Bit64)
    .double(wallTime)
    .tag(3, WireType.LengthDelimited)
    .string('brain.Event:2')
    .finish()
}

/** SessionLog { status 1 (START 1) }: events of this step and later, in earlier files of the run, no longer count. */
export function sessionStartEvent(wallTime: number, step: number): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Bit64).double(wallTime)
  writer.tag(2, WireType.Varint).int64(step)
  writer.tag(7, WireType.LengthDelimited).fork().tag(1, WireType.Varint).int32(1)
  return writer.join().finish()
}

/** A number at a step. */
export function scalarEvent(wallTime: number, step: number, tag: string, value: number): Uint8Array {
  return summaryEvent(wallTime, step, tag, (writer) => writer.tag(2, WireType.Bit32).float(value))
}

/** HistogramProto: min 1, max 2, num 3, sum 4, sum_squares 5, bucket_limit 6 packed, bucket 7 packed. */
export function histogramEvent(wallTime: number, step: number, tag: string, histogram: Histogram): Uint8Array {
  const { min, max, num, sum, sumSquares, limits, counts } = histogram
  return summaryEvent(wallTime, step, tag, (writer) => {
    writer.tag(5, WireType.LengthDelimited).fork()
    for (const [index, value] of [min, max, num, sum, sumSquares].entries()) {
      writer.tag(index + 1, WireType.Bit64).double(value)
    }
    for (const [field, values] of [
      [6, limits],
      [7, counts],
    ] as const) {
      writer.tag(field, WireType.LengthDelimited).fork()
      for (const value of values) writer.double(value)
      writer.join()
    }
    writer.join()
  })
}

/** TensorProto { dtype 1 (DT_STRING 7), tensor_shape 2 (none: a scalar), string_val 8 }, marked for the text plugin. */
export function textEvent(wallTime: number, step: number, tag: string, text: string): Uint8Array {
  return summaryEvent(wallTime, step, tag, (writer) => {
    writer.tag(8, WireType.LengthDelimited).fork()
    writer.tag(1, WireType.Varint).int32(7)
    writer.tag(2, WireType.LengthDelimited).fork().join()
    writer.tag(8, WireType.LengthDelimited).string(text)
    writer.join()
    // SummaryMetadata { plugin_data 1 { plugin_name 1 } }
    writer.tag(9, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).fork()
    writer.tag(1, WireType.LengthDelimited).string('text')
    writer.join().join()
  })
}

function summaryEvent(wallTime: number, step: number, tag: string, write: (writer: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Bit64).double(wallTime)
  writer.tag(2, WireType.Varint).int64(step)
  writer.tag(5, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).fork()
  writer.tag(1, WireType.LengthDelimited).string(tag)
  write(writer)
  return writer.join().join().finish()
}
