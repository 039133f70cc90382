#!/usr/bin/env node
require("./run.js")("bethinkd");
