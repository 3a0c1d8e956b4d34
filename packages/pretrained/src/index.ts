/**
 * Trained models of other projects as layers, for audio of 16 kHz. Private: part of the builds that use it.
 *
 * @packageDocumentation
 */
// Weight files

// Denoising
export { denoise } from './denoise.js'
export { BLOCK, Dtln, SHIFT } from './dtln.js'
export { lstmLayer, lstmsOf, otherModel, type WeightReader, weightReader } from './named_weights.js'
// Signals
export { mixChannels } from './signal/mix_channels.js'
export { hannWindow, RealFourier } from './signal/real_fourier.js'
export { splitMagnitudes } from './signal/split_magnitudes.js'
export { SAMPLE_RATE, wavFile } from './signal/wav_file.js'
// Voice activity
export { SileroVad } from './silero_vad.js'
export {
  BINS,
  CONTEXT,
  type Conv1d,
  FRAME,
  readSileroWeights,
  type SileroWeights,
  UNITS,
  WINDOW,
} from './silero_weights.js'
export { SpeechDetector, type SpeechEvent } from './speech_detector.js'
export { speechProbabilities } from './speech_probabilities.js'
export { type SpeechSegment, speechSegments } from './speech_segments.js'
