import type { LayerBatch } from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { transpose } from '@cudnn-rnn/rnn/layers'
import { LINE_HEIGHT, type LineDrawing, type LineImage } from './generator/line_drawing.js'
import { labelsOf, randomText } from './generator/line_texts.js'

/** Pixels from frame to frame. */
const STEP = 3
/** Pixels that a frame shows. */
const WINDOW = 9
/** Numbers per frame. */
export const FRAME_SIZE = WINDOW * LINE_HEIGHT

export interface Line {
  readonly text: string
  readonly font: string
  readonly image: LineImage
}

export interface RandomLines {
  readonly words: readonly string[]
  readonly fonts: readonly string[]
  readonly count: number
  /** Largest width in pixels, drawn for each line, or once for all lines of a batch. */
  readonly width: { readonly from: number; readonly to: number; readonly shared: boolean }
  readonly seed: number
}

/** Random lines; the same ones for a seed. */
export function randomLines(drawing: LineDrawing, { words, fonts, count, width, seed }: RandomLines): Line[] {
  const random = new Philox(seed)
  const drawn = () => width.from + (width.to - width.from) * random.uniform()
  const shared = drawn()
  return Array.from({ length: count }, () => {
    const font = fonts[Math.floor(random.uniform() * fonts.length)]
    const limit = width.shared ? shared : drawn()
    const text = randomText(words, (longer) => drawing.widthOf(longer, font) <= limit, random)
    return { text, font, image: drawing.draw(text, font, random) }
  })
}

/** Lines side by side, as the network reads them: columns of pixels [T,B,I], a step apart; zeros after a line's end. */
export function batchOf(lines: readonly Line[]): LayerBatch {
  const lengths = lines.map(({ image }) => Math.ceil(image.width / STEP))
  const time = Math.max(...lengths)
  const data = new Float32Array(time * lines.length * FRAME_SIZE)
  for (const [row, { image }] of lines.entries()) {
    const { data: columns } = transpose({ data: image.data, shape: [LINE_HEIGHT, image.width] })
    for (let t = 0; t < lengths[row]; t++) {
      // The columns around the frame; those outside the image are paper.
      const first = t * STEP + (STEP - WINDOW) / 2
      const [begin, end] = [Math.max(0, first), Math.min(image.width, first + WINDOW)]
      const place = (t * lines.length + row) * FRAME_SIZE + (begin - first) * LINE_HEIGHT
      data.set(columns.subarray(begin * LINE_HEIGHT, end * LINE_HEIGHT), place)
    }
  }
  return {
    input: { data, shape: [time, lines.length, FRAME_SIZE] },
    sequenceLengths: lengths,
    labels: lines.map(({ text }) => labelsOf(text)),
  }
}
