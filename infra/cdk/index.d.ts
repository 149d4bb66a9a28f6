import { CfnStack } from "aws-cdk-lib";
import { Construct } from "constructs";

export interface AptixProps {
  /** Folder that scripts/zips wrote, such as target/dist. */
  readonly dist: string;
  /** Parameters of template.yaml by name. Lists are texts with commas. Those without a default are required. */
  readonly parameters: Record<string, string | number>;
}

/** The stack of template.yaml as a nested stack: functions, API, table, bucket, queues, alarms. */
export declare class Aptix extends Construct {
  constructor(scope: Construct, id: string, props: AptixProps);
  readonly stack: CfnStack;
  /** Returns the value of an output, such as `ApiUrl`. */
  output(name: string): string;
}
