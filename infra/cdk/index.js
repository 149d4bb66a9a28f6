"use strict";
// The stack of template.yaml as a CDK construct. It deploys the template and the zips of scripts/zips as they are, as a nested
// stack, so the two can't differ.

const fs = require("node:fs");
const path = require("node:path");
const { CfnStack } = require("aws-cdk-lib");
const { Asset } = require("aws-cdk-lib/aws-s3-assets");
const { Construct } = require("constructs");

class Aptix extends Construct {
  constructor(scope, id, props) {
    super(scope, id);
    const { dist, parameters = {} } = props;
    const file = path.join(dist, "template.json");
    const declared = JSON.parse(fs.readFileSync(file, "utf8")).Parameters;
    const set = {};
    for (const [name, { Default }] of Object.entries(declared)) {
      // The default key of a zip is its file's name with a checksum.
      const file = /^([a-z-]+)-[0-9a-f]{16}\.zip$/.exec(Default);
      if (!file) continue;
      const code = new Asset(this, name, { path: path.join(dist, `${file[1]}.zip`) });
      set.CodeBucket = code.s3BucketName;
      set[name] = code.s3ObjectKey;
    }
    for (const [name, value] of Object.entries(parameters)) {
      if (!(name in declared)) throw new Error(`The template has no parameter ${name}.`);
      if (name in set) throw new Error(`The construct sets ${name} itself. Omit it.`);
      set[name] = String(value);
    }
    const missing = Object.keys(declared).filter((name) => !("Default" in declared[name]) && !(name in set));
    if (missing.length > 0) throw new Error(`Missing parameters: ${missing.join(", ")}.`);
    const template = new Asset(this, "Template", { path: file });
    this.stack = new CfnStack(this, "Stack", { templateUrl: template.httpUrl, parameters: set });
  }

  /** Returns the value of an output, such as `ApiUrl`. */
  output(name) {
    return this.stack.getAtt(`Outputs.${name}`).toString();
  }
}

module.exports = { Aptix };
