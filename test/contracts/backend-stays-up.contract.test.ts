// Backends that stay up between turns: what is particular to that.
import { holdWhatStaysUp } from './backend.suite.ts'

holdWhatStaysUp()
