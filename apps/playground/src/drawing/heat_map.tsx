import { useEffect, useRef } from 'preact/hooks'
import { useDarkMode } from './dark_mode.js'

/** Values in rows, row-major. */
export interface Matrix {
  readonly rows: number
  readonly columns: number
  readonly values: Float32Array
}

export interface HeatMapProps {
  /** The contents of the picture in words. */
  readonly label: string
  readonly matrix: Matrix
  /** The value of the strongest color; negative values have the other color. */
  readonly limit: number
  /** Pixels of the page for a value; default: the map fills the width it has. */
  readonly scale?: { readonly x: number; readonly y: number }
}

/** Colors of −limit, 0 and limit. */
const COLORS = {
  light: [
    [0x3a, 0x6e, 0xa5],
    [0xfc, 0xfc, 0xfa],
    [0xb8, 0x46, 0x1e],
  ],
  dark: [
    [0x7d, 0xb2, 0xea],
    [0x16, 0x19, 0x1d],
    [0xf0, 0x90, 0x6a],
  ],
} as const

/** A matrix as a picture of one cell for each value: positive values in the accent color, negative ones in blue. */
export function HeatMap({ label, matrix, limit, scale }: HeatMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const isDark = useDarkMode()
  const { rows, columns, values } = matrix
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context || rows === 0 || columns === 0) return
    const image = context.createImageData(columns, rows)
    image.data.set(pixels(values, limit, isDark))
    context.putImageData(image, 0, 0)
  }, [rows, columns, values, limit, isDark])
  const size = scale
    ? { width: `${columns * scale.x}px`, height: `${rows * scale.y}px`, maxWidth: 'none' }
    : {
        width: '100%',
        aspectRatio: `${columns} / ${Math.min(Math.max(rows, columns / (rows < 4 ? 12 : 4)), columns * 1.5)}`,
      }
  return <canvas ref={canvas} role="img" aria-label={label} width={columns} height={rows} style={size} />
}

/** RGBA bytes of values. */
export function pixels(values: Float32Array, limit: number, isDark: boolean): Uint8ClampedArray {
  const [low, zero, high] = COLORS[isDark ? 'dark' : 'light']
  const bytes = new Uint8ClampedArray(4 * values.length)
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    const share = limit > 0 && Number.isFinite(value) ? Math.max(-1, Math.min(1, value / limit)) : 0
    const end = share < 0 ? low : high
    for (let channel = 0; channel < 3; channel++) {
      bytes[4 * index + channel] = zero[channel] + Math.abs(share) * (end[channel] - zero[channel])
    }
    bytes[4 * index + 3] = 255
  }
  return bytes
}

/** The colors from −limit to limit. */
export function HeatKey({ limit }: { readonly limit: number }) {
  return (
    <div class="key">
      −{limit.toPrecision(2)}
      <i style={{ background: 'linear-gradient(to right, var(--other), var(--paper), var(--accent))' }} />
      {limit.toPrecision(2)}
    </div>
  )
}
