import type { Philox } from '@cudnn-rnn/rnn/executors'
import { type Canvas, createCanvas, type SKRSContext2D } from '@napi-rs/canvas'

/** Height of every line in pixels. Ink above and below it is cut off. */
export const LINE_HEIGHT = 28

/** A line of text, row-major: 0 is paper, 1 is ink. */
export interface LineImage {
  readonly width: number
  readonly data: Float32Array
}

const MAX_WIDTH = 1024
const MARGIN = 6
/** Letters whose ink reaches from the highest to the lowest line of writing. */
const TALL_LETTERS = 'Adfhklgjpqy'
/** Pixels from the top of the tallest letter to the bottom of the lowest. */
const [SMALLEST_INK, LARGEST_INK] = [21, 25] as const

/** A font at 100 pixels. */
interface FontMetrics {
  readonly ascent: number
  readonly descent: number
}

/** Draws lines with everything random but the text and the font: size, slant, weight, blur, shade and noise. */
export class LineDrawing {
  readonly #canvas: Canvas = createCanvas(MAX_WIDTH, LINE_HEIGHT)
  readonly #context: SKRSContext2D = this.#canvas.getContext('2d')
  readonly #metrics = new Map<string, FontMetrics>()

  /** About the width in pixels that a text will have. */
  widthOf(text: string, font: string): number {
    const { ascent, descent } = this.#metricsOf(font)
    this.#setFont(font, (SMALLEST_INK + LARGEST_INK) / 2 / (ascent + descent))
    return this.#context.measureText(text).width + 2 * MARGIN
  }

  draw(text: string, font: string, random: Philox): LineImage {
    const between = (low: number, high: number) => low + (high - low) * random.uniform()
    const context = this.#context
    const { ascent, descent } = this.#metricsOf(font)
    const scale = between(SMALLEST_INK, LARGEST_INK) / (ascent + descent)
    const [stretch, slant, tilt] = [between(0.92, 1.12), between(-0.12, 0.3), between(-0.006, 0.006)]
    const [left, baseline] = [
      MARGIN + between(-1, 3),
      (LINE_HEIGHT + scale * (ascent - descent)) / 2 + between(-1.2, 1.2),
    ]
    this.#setFont(font, scale)
    const width = Math.min(MAX_WIDTH, Math.ceil(context.measureText(text).width * stretch + 2 * MARGIN + 4))
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.fillStyle = 'white'
    context.fillRect(0, 0, width, LINE_HEIGHT)
    context.fillStyle = 'black'
    context.setTransform(stretch, tilt, -slant, 1, left, baseline)
    context.fillText(text, 0, 0)
    context.lineWidth = between(0.2, 1)
    context.strokeText(text, 0, 0)
    const pixels = context.getImageData(0, 0, width, LINE_HEIGHT).data
    const ink = Float32Array.from({ length: width * LINE_HEIGHT }, (_, pixel) => 1 - pixels[4 * pixel] / 255)
    blur(ink, width, between(0, 0.22))
    shade(ink, width, random)
    return { width, data: ink }
  }

  #metricsOf(font: string): FontMetrics {
    let metrics = this.#metrics.get(font)
    if (metrics === undefined) {
      this.#setFont(font, 1)
      const { actualBoundingBoxAscent: ascent, actualBoundingBoxDescent: descent } =
        this.#context.measureText(TALL_LETTERS)
      metrics = { ascent, descent }
      this.#metrics.set(font, metrics)
    }
    return metrics
  }

  /** @param scale of 100 pixels. */
  #setFont(font: string, scale: number): void {
    this.#context.font = `${(100 * scale).toFixed(2)}px '${font}'`
  }
}

/** Each pixel gives a share to each of its neighbors, along the rows and then along the columns. */
function blur(data: Float32Array, width: number, share: number): void {
  for (const stride of [1, width]) {
    const sharp = data.slice()
    for (let pixel = stride; pixel < data.length - stride; pixel++) {
      data[pixel] = (1 - 2 * share) * sharp[pixel] + share * (sharp[pixel - stride] + sharp[pixel + stride])
    }
  }
}

/** Ink of some darkness on paper of some shade, light from one side, and noise in every pixel. */
function shade(data: Float32Array, width: number, random: Philox): void {
  const between = (low: number, high: number) => low + (high - low) * random.uniform()
  const [paper, light, darkness, noise] = [between(0, 0.15), between(-0.1, 0.1), between(0.75, 1), between(0.01, 0.2)]
  for (let pixel = 0; pixel < data.length; pixel++) {
    const grain = noise * (random.uniform() - 0.5)
    const ground = paper + light * ((pixel % width) / width - 0.5)
    data[pixel] = Math.min(1, Math.max(0, ground + data[pixel] * (darkness - ground) + grain))
  }
}

export function pngOf({ width, data }: LineImage): string {
  const canvas = createCanvas(width, LINE_HEIGHT)
  const context = canvas.getContext('2d')
  const image = context.createImageData(width, LINE_HEIGHT)
  for (const [pixel, ink] of data.entries())
    image.data.set([255 * (1 - ink), 255 * (1 - ink), 255 * (1 - ink), 255], 4 * pixel)
  context.putImageData(image, 0, 0)
  return canvas.toDataURL('image/png')
}
