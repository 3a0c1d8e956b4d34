import type * as Runtime from 'onnxruntime-node'
import { describe } from 'vitest'
import { describeWithModels } from '../../../scripts/testing/trained_models.mjs'

/** ONNX Runtime, if its binary is installed and loads. */
const runtime: typeof Runtime | undefined = await import('onnxruntime-node').catch(() => undefined)

/** ONNX Runtime in a suite of {@link describeWithRuntime}. */
export const ort = runtime as typeof Runtime

/** A suite over ONNX Runtime; it is skipped if there is none, as its title then states. */
export function describeWithRuntime(title: string, suite: () => void): void {
  describe.skipIf(runtime === undefined)(runtime ? title : `${title} (skipped: no onnxruntime-node)`, suite)
}

/** The same with trained models. */
export function describeWithGraphs(title: string, suite: () => void): void {
  if (runtime === undefined) describeWithRuntime(title, () => undefined)
  else describeWithModels(title, suite)
}
