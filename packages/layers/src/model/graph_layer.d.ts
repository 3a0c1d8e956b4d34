import type { Backend } from '@cudnn-rnn/ops';
import type { GradientTape } from '@cudnn-rnn/ops/executor';
import type { LayerInput } from '../forwarded.js';
import { type ConfigValue, Layer, type LayerInfo, type Pass } from '../layer.js';
import type { LayerStream } from '../layer_stream.js';
import type { ModelGraph } from './model_graph.js';
import { ModelInputs } from './model_inputs.js';
import type { ModelForwarded } from './whole_model.js';
/** A layer that is a graph of layers: a whole model, branches, or one layer at each step. */
export declare class GraphLayer extends Layer {
    readonly graph: ModelGraph;
    constructor(backend: Backend, info: Omit<LayerInfo, 'output' | 'variables'>, graph: ModelGraph);
    get parts(): readonly Layer[];
    get stateCount(): number;
    stateShapes(batch: number): readonly (readonly number[])[];
    /** The lengths of the first output, given all inputs'. */
    outputLengths(lengths: Int32Array): Int32Array;
    forward(t: GradientTape, x: LayerInput | ModelInputs, pass: Pass): Promise<ModelForwarded>;
    openStream(batch: number): LayerStream;
    /** By the names of the layers that draw. */
    randomState(): Promise<ConfigValue>;
    restoreRandomState(state: ConfigValue): void;
}
