import type { LayerConfig, LayerDefinition } from './layer.js'
import type { GraphPlan } from './model/model_graph.js'

/** A layer as a saved model describes it. */
export function savedLayer({ kind, name, config }: LayerDefinition): LayerConfig {
  return { kind, ...(name !== undefined && { name }), ...(Object.keys(config).length > 0 && { config }) }
}

/** A plan as a saved model describes it: a chain by its layers alone. */
export function savedPlan({ inputs, layers, nodes, outputs }: GraphPlan, isChain: boolean): LayerConfig {
  const saved = layers.map(savedLayer)
  if (isChain) return { input: { ...inputs[0].signal }, layers: saved } as LayerConfig
  return { inputs, layers: saved, nodes, outputs } as unknown as LayerConfig
}
