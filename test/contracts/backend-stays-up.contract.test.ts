// Warm backends: the additional guarantees.
import { holdWhatStaysUp } from './backend.suite.ts'

holdWhatStaysUp()
