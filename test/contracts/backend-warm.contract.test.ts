// Warm backends: the same guarantees as for cold ones.
import { holdBackends } from './backend.suite.ts'

holdBackends('warm')
