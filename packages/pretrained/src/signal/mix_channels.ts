/** The mean of channels of equal length, so that speech in one of two channels is kept. */
export function mixChannels(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(0)] = channels
  if (channels.length < 2) return first
  return first.map((_, n) => channels.reduce((sum, channel) => sum + channel[n], 0) / channels.length)
}
